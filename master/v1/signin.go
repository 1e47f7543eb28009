package v1

// StartDeviceSignInRequest begins a sign-in with a device code; an empty provider is the first one.
type StartDeviceSignInRequest struct {
	Provider string `json:"provider"`
}

// StartDeviceSignInResponse has what the user needs to sign in on another machine: URL with
// UserCode, or CompleteURL, which contains the code. DeviceCode is a secret of the caller.
type StartDeviceSignInResponse struct {
	DeviceCode  string `json:"deviceCode"`
	UserCode    string `json:"userCode"`
	URL         string `json:"url"`
	CompleteURL string `json:"completeUrl"`
	Interval    int    `json:"interval"`  // seconds between two calls of FinishDeviceSignIn
	ExpiresIn   int    `json:"expiresIn"` // seconds
}

// FinishDeviceSignInRequest asks for the result of a sign-in with a device code.
type FinishDeviceSignInRequest struct {
	Provider   string `json:"provider"`
	DeviceCode string `json:"deviceCode"`
}

// FinishDeviceSignInResponse has the token of the session, or asks to call again later.
type FinishDeviceSignInResponse struct {
	Pending bool   `json:"pending"`
	Slower  bool   `json:"slower"` // poll less often
	Token   string `json:"token"`
	User    *User  `json:"user"`
}
