"""Saito, Aihara, Matsutani & Narita 2021: logged fashion recommendations of two policies, each
judged on the other's log."""

TITLE = "Open Bandit: each policy judged on the other's log (Saito et al. 2021)"
