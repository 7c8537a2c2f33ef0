"""Secrets and personal data: finding them, taking them out, and proving that they are gone."""
