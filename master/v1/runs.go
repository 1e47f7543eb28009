package v1

type GetRunMetadataResponse struct {
	Metadata Struct `json:"metadata,null"`
}

type NotifyContainerRunningRequest struct {
	AllocationID string  `json:"allocationId"`
	Data         Struct  `json:"data"`
	NodeName     *string `json:"nodeName,omitempty"`
	NumPeers     *int    `json:"numPeers,omitempty"`
	Rank         *int    `json:"rank,omitempty"`
	RequestUUID  *string `json:"requestUuid,omitempty"`
}

type NotifyContainerRunningResponse struct {
	Data []Struct `json:"data"`
}

type PostRunMetadataRequest struct {
	Metadata Struct `json:"metadata"`
	RunID    *int   `json:"runId,omitempty"`
}

type PostRunMetadataResponse struct {
	Metadata Struct `json:"metadata,null"`
}

type RunPrepareForReportingRequest struct {
	RunID             int    `json:"runId"`
	CheckpointStorage Struct `json:"checkpointStorage,omitempty"`
}

type RunPrepareForReportingResponse struct {
	StorageID *int `json:"storageId"`
}
