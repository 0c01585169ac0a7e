"""Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020: improved algorithms for conservative exploration in
bandits."""

TITLE = "Improved algorithms for conservative exploration in bandits (Garcelon et al. 2020)"
