"""The course of a session in time, and the player that follows it; nothing is executed."""
