package v1

// ActivityType is an enum of the wire.
type ActivityType string

// EntityType is an enum of the wire.
type EntityType string

// The values that mean something here.
const (
	ActivityTypeGet   ActivityType = "ACTIVITY_TYPE_GET"
	EntityTypeProject EntityType   = "ENTITY_TYPE_PROJECT"
)

// PostUserActivityRequest is a message of the wire.
type PostUserActivityRequest struct {
	ActivityType ActivityType `json:"activityType"`
	EntityType   EntityType   `json:"entityType"`
	EntityID     int          `json:"entityId"`
}

// GetProjectsByUserActivityResponse is a message of the wire.
type GetProjectsByUserActivityResponse struct {
	Projects []Project `json:"projects"`
}

// PatchUsersRequest activates or deactivates users, by their ids or by what they are like.
type PatchUsersRequest struct {
	UserIDs  []int        `json:"userIds"`
	Activate bool         `json:"activate"`
	Filters  *UserFilters `json:"filters,omitempty"`
}

// UserFilters is a message of the wire.
type UserFilters struct {
	Name  string `json:"name,omitempty"`
	Admin *bool  `json:"admin,omitempty"`
}

// PatchUsersResponse is a message of the wire.
type PatchUsersResponse struct {
	Results []UserActionResult `json:"results"`
}

// UserActionResult is the result for one user.
type UserActionResult struct {
	Error string `json:"error"` // empty: done
	ID    int    `json:"id"`
}
