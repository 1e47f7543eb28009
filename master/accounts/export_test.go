package accounts

// For tests, which are in another package because they use store, which imports this one.
const (
	MaxSameAssignments  = maxSameAssignments
	MaxUserSettingBytes = maxUserSettingBytes
	StrangersPart       = strangersPart
	DummyHash           = dummyHash
)

// Strangers has a place for each look-up of a token that was not valid lately.
func (x *Authenticator) Strangers() chan struct{} { return x.strangers }

var (
	SameMemberships = sameMemberships
	UserSorts       = userSorts
	AgentOf         = agentOf
)
