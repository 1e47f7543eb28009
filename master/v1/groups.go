package v1

// Group is a group of users.
type Group struct {
	GroupID int    `json:"groupId"`
	Name    string `json:"name"`
	// Origin is the origin of the group: "" for this cluster, or oidc: and the name of an identity
	// provider. The name and the members of a group with an origin are changed there.
	Origin string `json:"origin"`
}

// GroupDetails is a group with its users.
type GroupDetails struct {
	GroupID int    `json:"groupId"`
	Name    string `json:"name"`
	Origin  string `json:"origin"`
	Users   []User `json:"users"`
}

// GroupSearchResult is a group in a list.
type GroupSearchResult struct {
	Group      Group `json:"group"`
	NumMembers int   `json:"numMembers"`
}

// GetGroupsRequest is a message of the wire.
type GetGroupsRequest struct {
	UserID int    `json:"userId,omitempty"`
	Name   string `json:"name,omitempty"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit"`
}

// GetGroupsResponse is a message of the wire.
type GetGroupsResponse struct {
	Groups     []GroupSearchResult `json:"groups"`
	Pagination *Pagination         `json:"pagination"`
}

// GetGroupResponse is a message of the wire.
type GetGroupResponse struct {
	Group GroupDetails `json:"group"`
}

// CreateGroupRequest is a message of the wire.
type CreateGroupRequest struct {
	Name     string `json:"name"`
	AddUsers []int  `json:"addUsers,omitempty"`
}

// CreateGroupResponse is a message of the wire.
type CreateGroupResponse struct {
	Group GroupDetails `json:"group"`
}

// UpdateGroupRequest is a message of the wire. An empty name leaves the name.
type UpdateGroupRequest struct {
	GroupID     int    `json:"groupId"`
	Name        string `json:"name,omitempty"`
	AddUsers    []int  `json:"addUsers,omitempty"`
	RemoveUsers []int  `json:"removeUsers,omitempty"`
}

// UpdateGroupResponse is a message of the wire.
type UpdateGroupResponse struct {
	Group GroupDetails `json:"group"`
}

// AssignMultipleGroupsRequest adds users to groups, and removes them from groups.
type AssignMultipleGroupsRequest struct {
	UserIDs      []int `json:"userIds"`
	AddGroups    []int `json:"addGroups"`
	RemoveGroups []int `json:"removeGroups"`
}
