"""The full-screen app: it shows what `sesstool.api` tells, and writes through it alone."""
