"""Pure rules: no clock, no network, no logging; time and chance are arguments."""
