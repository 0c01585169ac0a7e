"""Webhooks: what happens in an experiment is told to other programs."""
