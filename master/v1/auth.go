package v1

// LoginRequest is a message of the wire.
type LoginRequest struct {
	Password string `json:"password"`
	Username string `json:"username"`
	IsHashed *bool  `json:"isHashed,omitempty"`
}

// LoginResponse is a message of the wire.
type LoginResponse struct {
	Token string `json:"token"`
	User  User   `json:"user"`
}
