"""What an experiment is and how it changes: specs, requests, events, state, rollout, evidence. No database, no HTTP."""
