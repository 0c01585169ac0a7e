"""Experiments as chunks of replications: on disk, in threads, processes and clusters."""
