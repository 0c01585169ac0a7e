"""Best-arm identification: sample until the best arm is known, then stop."""
