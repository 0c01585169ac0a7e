"""What simulations and identifications found: arrays by policy, statistics, comparisons, files."""
