package pool

// Patience is how long a list waits for slow members.
const Patience = patience
