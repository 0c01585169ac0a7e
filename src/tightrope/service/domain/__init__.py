"""The state of an experiment and its changes: specs, requests, events, state, rollout, evidence. No database, no HTTP."""
