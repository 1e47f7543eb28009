package v1

// The endpoints of users.
var (
	Login = Endpoint[LoginRequest, LoginResponse]{Method: "POST", Path: "/auth/login", Access: Public,
		Summary: "Sign in with a name and a password"}
	Logout = Endpoint[None, Empty]{Method: "POST", Path: "/auth/logout", Access: ByUsers, Object: KindOwn,
		Summary: "Sign out"}
	GetSessionUser = Endpoint[None, GetMeResponse]{Method: "GET", Path: "/auth/user", Access: ByUsers, Object: KindOwn,
		Summary: "The signed-in user"}
	GetMe = Endpoint[None, GetMeResponse]{Method: "GET", Path: "/me", Access: ByBoth, Object: KindOwn,
		Summary: "The signed-in user"}
	GetOldMe = Endpoint[None, OldUser]{Method: "GET", Path: "//users/me", Access: ByBoth, Object: KindOwn,
		Summary: "The signed-in user, in the form that signing in by a browser reads"}
	GetUserSettings = Endpoint[None, GetUserSettingResponse]{Method: "GET", Path: "/users/setting", Access: ByUsers, Object: KindOwn,
		Summary: "What your pages and programs keep for you"}
	SetUserSettings = Endpoint[PostUserSettingRequest, None]{Method: "POST", Path: "/users/setting", Access: ByUsers, Object: KindOwn,
		Summary: "Keep settings; an empty value removes one"}
	ResetUserSettings = Endpoint[None, None]{Method: "POST", Path: "/users/setting/reset", Access: ByUsers, Object: KindOwn,
		Summary: "Remove all of your settings"}
	ListUsers = Endpoint[None, GetUsersResponse]{Method: "GET", Path: "/users", Access: ByBoth, Object: KindUser, Verb: View, List: true,
		Summary: "List users",
		Params:  "active admin name limit offset orderBy sortBy"}
	CreateUser = Endpoint[PostUserRequest, PostUserResponse]{Method: "POST", Path: "/users", Access: ByAdmins, Object: KindUser, Verb: Administer,
		Summary: "Create a user"}
	GetUserByName = Endpoint[None, GetUserByUsernameResponse]{Method: "GET", Path: "/users/:name/by-username", Access: ByBoth, Object: KindUser, Verb: View,
		Summary: "A user by name"}
	GetUser = Endpoint[None, GetUserResponse]{Method: "GET", Path: "/users/:id", Access: ByBoth, Object: KindUser, Verb: View,
		Summary: "A user"}
	ChangeUser = Endpoint[PatchUser, PatchUserResponse]{Method: "PATCH", Path: "/users/:id", Access: ByUsers, Object: KindUser, Verb: Change, Again: true,
		Summary: "Change a user; others than admins may change their own password and display name"}
	SetPassword = Endpoint[None, None]{Method: "POST", Path: "/users/:id/password", Access: ByUsers, Object: KindUser, Verb: Change, Stream: true,
		Summary: "Set a user's password; the body is a JSON string"}
)
