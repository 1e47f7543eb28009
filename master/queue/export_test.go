package queue

// For the tests of rows, which use the room as other packages do.
const (
	MaxQuotasOfWorkspace = maxQuotasOfWorkspace
	MaxQuotasOfOwner     = maxQuotasOfOwner
)
