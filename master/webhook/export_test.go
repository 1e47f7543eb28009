package webhook

// For tests, which are in another package because they use rooms that import this one.
const (
	KeptDeliveries   = keptDeliveries
	MaxSearches      = maxSearches
	MaxWebhooks      = maxWebhooks
	MaxOutbox        = maxOutbox
	MaxSourceWaiting = maxSourceWaiting
	MaxOwnSearches   = maxOwnSearches
)

var HasRoom = hasRoom
