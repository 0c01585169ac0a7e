"""Independent arms: UCB, KL-UCB, Thompson sampling, epsilon-greedy."""
