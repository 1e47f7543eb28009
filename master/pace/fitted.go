package pace

// fitted are the parameters that TestParameters finds.
func fitted() parameters {
	return parameters{trend: 0.7, slow: 1.5, base: 0.05, uneven: 0.2, unseen: 0.15, low: -2.22, high: 4.06}
}
