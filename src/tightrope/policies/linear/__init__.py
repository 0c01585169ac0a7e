"""Linear bandits: optimism, Thompson sampling and epsilon-greedy over one ridge regression."""
