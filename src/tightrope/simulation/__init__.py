"""The loops and what runs them: fixed horizon, until stop, results on disk."""
