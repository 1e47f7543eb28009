package v1

type LoginRequest struct {
	Password string `json:"password"`
	Username string `json:"username"`
	IsHashed *bool  `json:"isHashed,omitempty"`
}

type LoginResponse struct {
	Token string `json:"token"`
	User  User   `json:"user"`
}
