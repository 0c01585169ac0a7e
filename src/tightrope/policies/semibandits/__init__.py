"""Policies that choose a set of arms each round and see a reward for each of them (combinatorial
linear semi-bandits)."""
