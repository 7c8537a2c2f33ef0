"""Two sessions side by side: what both hold, what one alone holds, and what moved."""
