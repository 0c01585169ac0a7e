"""Takemura & Ito 2019: arm-wise randomisation for combinatorial linear semi-bandits."""

TITLE = "Arm-wise randomisation for combinatorial linear semi-bandits (Takemura & Ito 2019)"
