package v1

// The endpoints of templates.
var (
	ListTemplates = Endpoint[None, GetTemplatesResponse]{Method: "GET", Path: "/templates", Access: ByBoth, Object: KindTemplate, Verb: View, List: true,
		Summary: "List templates",
		Params:  "name workspaceIds limit offset orderBy sortBy"}
	GetTemplate = Endpoint[None, TemplateResponse]{Method: "GET", Path: "/templates/:name", Access: ByBoth, Object: KindTemplate, Verb: View,
		Summary: "A template"}
	CreateTemplate = Endpoint[Template, TemplateResponse]{Method: "POST", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Create, BodyLimit: ConfigBody,
		Summary: "Make a template"}
	PutTemplate = Endpoint[Template, TemplateResponse]{Method: "PUT", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change, Again: true, BodyLimit: ConfigBody,
		Summary: "Make a template, or give it another configuration"}
	ChangeTemplate = Endpoint[Struct, TemplateResponse]{Method: "PATCH", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change, Again: true, BodyLimit: ConfigBody,
		Summary: "Give a template another configuration, which is the body"}
	DeleteTemplate = Endpoint[None, None]{Method: "DELETE", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change,
		Summary: "Remove a template"}
	RenameTemplate = Endpoint[PatchTemplateNameRequest, TemplateResponse]{Method: "PATCH", Path: "/template/rename", Access: ByUsers, Object: KindTemplate, Verb: Change, NamedIn: Body,
		Summary: "Give a template another name"}
)
