package v1

// The endpoints of users.
var (
	Login = Endpoint[LoginRequest, LoginResponse]{Method: "POST", Path: "/auth/login", Access: Public, Audit: AuditAlways,
		Summary: "Sign in with a username and a password"}
	LoginJob = Endpoint[LoginJobRequest, LoginResponse]{Method: "POST", Path: "/detent/auth/job", Access: Public, Audit: AuditAlways,
		Summary: "Sign a job of Nomad in with its workload identity, as the service account that the operators chose for the job"}
	Logout = Endpoint[None, Empty]{Method: "POST", Path: "/auth/logout", Access: ByUsers, Object: KindOwn, Audit: AuditAlways,
		Summary: "Sign out"}
	StartSignIn = Endpoint[None, None]{Method: "GET", Path: "//oidc/sso", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign in with the first identity provider, in a browser"}
	ConfirmSignIn = Endpoint[None, None]{Method: "POST", Path: "//oidc/sso", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign a program on the browser's machine in with the first identity provider"}
	StartSignInWith = Endpoint[None, None]{Method: "GET", Path: "//oidc/sso/:provider", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign in with an identity provider, in a browser"}
	ConfirmSignInWith = Endpoint[None, None]{Method: "POST", Path: "//oidc/sso/:provider", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign a program on the browser's machine in with an identity provider"}
	FinishSignIn = Endpoint[None, None]{Method: "GET", Path: "//oidc/callback", Access: Public, Stream: true, Others: []string{"state", "code", "error", "error_description"}, Audit: AuditAlways,
		Summary: "Complete a sign-in with an identity provider, which sends browsers here"}
	StartDeviceSignIn = Endpoint[StartDeviceSignInRequest, StartDeviceSignInResponse]{Method: "POST", Path: "/detent/oidc/device", Access: Public,
		Summary: "Sign in with an identity provider, on a machine without a browser"}
	FinishDeviceSignIn = Endpoint[FinishDeviceSignInRequest, FinishDeviceSignInResponse]{Method: "POST", Path: "/detent/oidc/device/token", Access: Public, Audit: AuditAlways,
		Summary: "Ask whether the user has signed in with a device code"}
	GetSessionUser = Endpoint[None, GetMeResponse]{Method: "GET", Path: "/auth/user", Access: ByUsers, Object: KindOwn,
		Summary: "Get the signed-in user"}
	GetMe = Endpoint[None, GetMeResponse]{Method: "GET", Path: "/me", Access: ByBoth, Object: KindOwn,
		Summary: "Get the signed-in user"}
	GetOldMe = Endpoint[None, OldUser]{Method: "GET", Path: "//users/me", Access: ByBoth, Object: KindOwn,
		Summary: "Get the signed-in user, in the form for sign-ins by a browser"}
	OldLogin = Endpoint[OldLoginRequest, OldLoginResponse]{Method: "POST", Path: "//login", Access: Public, Audit: AuditAlways, Others: []string{"cookie"},
		Summary: "Sign in with a username and a password, in the form of Determined's oldest API; with cookie=true the response sets a cookie"}
	OldLogout = Endpoint[None, Empty]{Method: "POST", Path: "//logout", Access: ByUsers, Object: KindOwn, Audit: AuditAlways,
		Summary: "Sign out, in the form of Determined's oldest API"}
	ListOldUsers = Endpoint[None, []OldUser]{Method: "GET", Path: "//users", Access: ByUsers, Object: KindUser, Verb: View, List: true, Page: true,
		Summary: "List users, in the form of Determined's oldest API"}
	CreateOldUser = Endpoint[OldUserRequest, Empty]{Method: "POST", Path: "//users", Access: ByAdmins, Object: KindUser, Verb: Administer,
		Summary: "Create a user without a password, in the form of Determined's oldest API"}
	ChangeOldUser = Endpoint[OldUserRequest, Empty]{Method: "PATCH", Path: "//users/:name", Access: ByUsers, Object: KindUser, Verb: Change, Again: true,
		Summary: "Change a user, in the form of Determined's oldest API"}
	RenameOldUser = Endpoint[OldUserRequest, Empty]{Method: "PATCH", Path: "//users/:name/username", Access: ByAdmins, Object: KindUser, Verb: Administer, Again: true,
		Summary: "Rename a user, in the form of Determined's oldest API"}
	GetUserSettings = Endpoint[None, GetUserSettingResponse]{Method: "GET", Path: "/users/setting", Access: ByUsers, Object: KindOwn,
		Summary: "List your settings"}
	SetUserSettings = Endpoint[PostUserSettingRequest, None]{Method: "POST", Path: "/users/setting", Access: ByUsers, Object: KindOwn,
		Summary: "Store settings; an empty value removes a setting"}
	ResetUserSettings = Endpoint[None, None]{Method: "POST", Path: "/users/setting/reset", Access: ByUsers, Object: KindOwn,
		Summary: "Delete all of your settings"}
	PostUserActivity = Endpoint[PostUserActivityRequest, None]{Method: "POST", Path: "/users/activity", Access: ByUsers, Object: KindOwn, Again: true,
		Summary: "Note that you looked at a project"}
	ListVisitedProjects = Endpoint[GetVisitedProjectsRequest, GetProjectsByUserActivityResponse]{Method: "GET", Path: "/user/projects/activity", Access: ByUsers, Object: KindProject, Verb: View, List: true,
		Summary: "List the projects that you have looked at, the latest first"}
	ChangeUsers = Endpoint[PatchUsersRequest, PatchUsersResponse]{Method: "PATCH", Path: "/users", Access: ByAdmins, Object: KindUser, Verb: Administer, Again: true,
		Summary: "Activate or deactivate several users"}
	ListUsers = Endpoint[GetUsersRequest, GetUsersResponse]{Method: "GET", Path: "/users", Access: ByBoth, Object: KindUser, Verb: View, List: true,
		Summary: "List users"}
	CreateUser = Endpoint[PostUserRequest, PostUserResponse]{Method: "POST", Path: "/users", Access: ByAdmins, Object: KindUser, Verb: Administer,
		Summary: "Create a user"}
	GetUserByName = Endpoint[None, GetUserByUsernameResponse]{Method: "GET", Path: "/users/:name/by-username", Access: ByBoth, Object: KindUser, Verb: View,
		Summary: "Get a user by username"}
	GetUser = Endpoint[None, GetUserResponse]{Method: "GET", Path: "/users/:id", Access: ByBoth, Object: KindUser, Verb: View,
		Summary: "Get a user"}
	ChangeUser = Endpoint[PatchUser, PatchUserResponse]{Method: "PATCH", Path: "/users/:id", Access: ByUsers, Object: KindUser, Verb: Change, Again: true,
		Summary: "Change a user; a user who is no administrator may change their own password and display name"}
	SetPassword = Endpoint[None, None]{Method: "POST", Path: "/users/:id/password", Access: ByUsers, Object: KindUser, Verb: Change, Stream: true,
		Summary: "Set a user's password; the body is a JSON string"}
)
