"""All that knows Numba: how kernels are compiled, kept on disk and called."""
