"""The rules, one module a family, and the engine that runs them over a session."""
