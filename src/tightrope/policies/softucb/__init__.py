"""SoftUCB: confidence widths learned from data."""
