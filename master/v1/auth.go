package v1

type LoginRequest struct {
	Password string `json:"password"`
	Username string `json:"username"`
	IsHashed *bool  `json:"isHashed,omitempty"`
}

// LoginJobRequest signs a job of Nomad in.
type LoginJobRequest struct {
	Identity string `json:"identity"` // the workload identity, a JWT
}

type LoginResponse struct {
	Token string `json:"token"`
	User  User   `json:"user"`
}
