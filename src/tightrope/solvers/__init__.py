"""Linear programs, designs and oracles, with certificates."""
