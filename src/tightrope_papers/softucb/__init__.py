"""Yang & Toni 2020: confidence widths learned by gradient ascent."""

TITLE = "Differentiable linear bandit algorithm (Yang & Toni 2020)"
