"""Pure maths kernels: ties, counts, divergences, radii, Cholesky, ridge regression."""
