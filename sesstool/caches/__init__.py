"""What sesstool has drawn from sessions and keeps beside them: caches in the user's own folder."""
