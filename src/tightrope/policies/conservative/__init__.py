"""Conservative exploration: learning that stays within a fraction alpha of a known baseline."""
