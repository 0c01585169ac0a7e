"""Contextual bandits on top of any regression."""
