package v1

type UserWebSetting struct {
	Key         string `json:"key"`
	StoragePath string `json:"storagePath"`
	Value       string `json:"value"`
}

type GetUserSettingResponse struct {
	Settings []UserWebSetting `json:"settings"`
}

type PostUserSettingRequest struct {
	Settings []UserWebSetting `json:"settings"`
}
