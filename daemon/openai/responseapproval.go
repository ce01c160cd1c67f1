package openai

// approvals reads the client's answers among new items.
func (r *ResponseRequest) approvals(items []inputItem) error {
	for _, item := range items {
		if item.answer == nil {
			continue
		}
		var a Approval
		var err error
		if a.Request, err = optionalText(field(item.answer, "approval_request_id"), item.path+".approval_request_id"); err != nil {
			return err
		}
		if a.Request == "" {
			return missing(item.path + ".approval_request_id")
		}
		v := field(item.answer, "approve")
		if v == nil {
			return missing(item.path + ".approve")
		}
		if a.Approve, err = boolean(v, item.path+".approve"); err != nil {
			return err
		}
		if reason := looseText(field(item.answer, "reason")); reason != nil {
			a.Reason = *reason
		}
		r.Approvals = append(r.Approvals, a)
	}
	return nil
}

// asksApproval reports whether the tools have the one that is for confirmations.
func asksApproval(tools []byte) bool {
	found := false
	if tools == nil || kindOf(tools) != "array" {
		return false
	}
	_ = elements(tools, func(_ int, tool []byte) error {
		if kindOf(tool) == "object" && string(field(tool, "type")) == `"mcp"` {
			label := looseText(field(tool, "server_label"))
			found = found || label != nil && *label == ApprovalServer
		}
		return nil
	})
	return found
}
