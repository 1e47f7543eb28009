package accounts

// For tests, which are in another package because they use store, which imports this one.
const (
	MaxSameAssignments  = maxSameAssignments
	MaxUserSettingBytes = maxUserSettingBytes
)

var (
	SameMemberships = sameMemberships
	UserSorts       = userSorts
)
