package v1

// UserWebSetting is a message of the wire.
type UserWebSetting struct {
	Key         string `json:"key"`
	StoragePath string `json:"storagePath"`
	Value       string `json:"value"`
}

// GetUserSettingResponse is a message of the wire.
type GetUserSettingResponse struct {
	Settings []UserWebSetting `json:"settings"`
}

// PostUserSettingRequest is a message of the wire.
type PostUserSettingRequest struct {
	Settings []UserWebSetting `json:"settings"`
}
