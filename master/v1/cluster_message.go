package v1

import "time"

// ClusterMessage is a message of the administrators to all users.
type ClusterMessage struct {
	Message     string     `json:"message"`
	StartTime   time.Time  `json:"startTime"`
	EndTime     *time.Time `json:"endTime"` // null: until an administrator clears the message
	CreatedTime time.Time  `json:"createdTime"`
}

type GetClusterMessageResponse struct {
	ClusterMessage *ClusterMessage `json:"clusterMessage"`
}

// SetClusterMessageRequest sets the end as a time or as a duration (24h, 2d), or sets no end.
type SetClusterMessageRequest struct {
	Message   string     `json:"message"`
	StartTime *time.Time `json:"startTime"`
	EndTime   *time.Time `json:"endTime"`
	Duration  *string    `json:"duration"`
}
