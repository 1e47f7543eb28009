package v1

// GetRunMetadataResponse is a message of the wire.
type GetRunMetadataResponse struct {
	Metadata Struct `json:"metadata,null"`
}

// NotifyContainerRunningRequest is a message of the wire.
type NotifyContainerRunningRequest struct {
	AllocationID string  `json:"allocationId"`
	Data         Struct  `json:"data"`
	NodeName     *string `json:"nodeName,omitempty"`
	NumPeers     *int    `json:"numPeers,omitempty"`
	Rank         *int    `json:"rank,omitempty"`
	RequestUUID  *string `json:"requestUuid,omitempty"`
}

// NotifyContainerRunningResponse is a message of the wire.
type NotifyContainerRunningResponse struct {
	Data []Struct `json:"data"`
}

// PostRunMetadataRequest is a message of the wire.
type PostRunMetadataRequest struct {
	Metadata Struct `json:"metadata"`
	RunID    *int   `json:"runId,omitempty"`
}

// PostRunMetadataResponse is a message of the wire.
type PostRunMetadataResponse struct {
	Metadata Struct `json:"metadata,null"`
}

// RunPrepareForReportingRequest is a message of the wire.
type RunPrepareForReportingRequest struct {
	RunID             int    `json:"runId"`
	CheckpointStorage Struct `json:"checkpointStorage,omitempty"`
}

// RunPrepareForReportingResponse is a message of the wire.
type RunPrepareForReportingResponse struct {
	StorageID *int `json:"storageId"`
}
