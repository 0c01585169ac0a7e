"""Results of simulations and identifications: arrays by policy, statistics, comparisons, files."""
