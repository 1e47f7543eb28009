package protocol

// Supported describes what the master supports (RFC 7643, section 5).
func Supported(maxResults, maxBody int) map[string]any {
	no := map[string]any{"supported": false}
	return map[string]any{
		"schemas":        []string{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
		"patch":          map[string]any{"supported": true},
		"bulk":           map[string]any{"supported": false, "maxOperations": 0, "maxPayloadSize": maxBody},
		"filter":         map[string]any{"supported": true, "maxResults": maxResults},
		"changePassword": no, "sort": no, "etag": no,
		"authenticationSchemes": []map[string]any{
			{"type": "oauthbearertoken", "name": "Bearer", "description": "The token in the master's configuration (scim.auth)", "primary": true},
			{"type": "httpbasic", "name": "Basic", "description": "The username and the password in the master's configuration (scim.auth)"},
		},
	}
}

// ResourceTypes describes the kinds of resources.
func ResourceTypes() []map[string]any {
	kind := func(name, schema, description string) map[string]any {
		return map[string]any{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:ResourceType"},
			"id": name, "name": name, "endpoint": "/" + name + "s",
			"description": description, "schema": schema}
	}
	return []map[string]any{kind("User", UserSchema, "An account"), kind("Group", GroupSchema, "A group of users")}
}

// attribute describes an attribute of SCIM: by default a single string that clients may read and write. changes lists
// properties that differ, as names and values.
func attribute(name, description string, changes ...any) map[string]any {
	a := map[string]any{"name": name, "type": "string", "multiValued": false, "description": description, "required": false, "caseExact": false,
		"mutability": "readWrite", "returned": "default", "uniqueness": "none"}
	for i := 0; i+1 < len(changes); i += 2 {
		a[changes[i].(string)] = changes[i+1]
	}
	return a
}

// Schemas describes the attributes that the master stores.
func Schemas() []map[string]any {
	schema := func(id, name, description string, attributes ...map[string]any) map[string]any {
		return map[string]any{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:Schema"},
			"id": id, "name": name, "description": description, "attributes": attributes}
	}
	parts := func(list ...map[string]any) []map[string]any { return list }
	return []map[string]any{
		schema(UserSchema, "User", "An account",
			attribute("userName", "The name of the account; the master stores it in lower case", "required", true, "uniqueness", "server"),
			attribute("displayName", "The name by which other users know the person"),
			attribute("name", "The parts of the person's name", "type", "complex", "subAttributes", parts(
				attribute("formatted", "The whole name"),
				attribute("familyName", "The family name"), attribute("givenName", "The given name"), attribute("middleName", "Middle names"))),
			attribute("emails", "Mail addresses; the master only stores them for the SCIM client", "type", "complex", "multiValued", true, "subAttributes", parts(
				attribute("value", "The address"), attribute("display", "A name for the address"),
				attribute("type", "The kind of the address, such as work"), attribute("primary", "Whether this address is preferred", "type", "boolean"))),
			attribute("active", "Whether the person may sign in", "type", "boolean"),
			attribute("groups", "The groups of the client that the person is in", "type", "complex", "multiValued", true,
				"mutability", "readOnly", "subAttributes", parts(
					attribute("value", "The id of the group", "mutability", "readOnly"),
					attribute("display", "The name of the group", "mutability", "readOnly"),
					attribute("$ref", "The address of the group", "type", "reference", "referenceTypes", []string{"Group"}, "mutability", "readOnly"))),
		),
		schema(GroupSchema, "Group", "A group of users",
			attribute("displayName", "The name of the group", "required", true, "caseExact", true, "uniqueness", "server"),
			attribute("members", "The users in the group", "type", "complex", "multiValued", true, "subAttributes", parts(
				attribute("value", "The id of the user", "mutability", "immutable"),
				attribute("display", "The name of the user", "mutability", "readOnly"),
				attribute("type", "The type of the member", "mutability", "immutable", "canonicalValues", []string{"User"}),
				attribute("$ref", "The address of the user", "type", "reference", "referenceTypes", []string{"User"}, "mutability", "immutable"))),
		),
	}
}
