() => {
  // The elements that can be used and are visible, also in open shadow roots and in
  // frames of the same origin, in the order of the page.
  const limit = 1000, found = [];
  let left = 200000;
  const roles = new Set(['button', 'link', 'checkbox', 'radio', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'option', 'switch', 'textbox', 'searchbox', 'combobox', 'slider', 'spinbutton', 'treeitem']);
  const usable = el => {
    switch (el.localName) {
      case 'a': case 'area': return el.hasAttribute('href');
      case 'input': return el.type !== 'hidden';
      case 'button': case 'select': case 'textarea': case 'summary': return true;
    }
    return el.isContentEditable && !(el.parentElement && el.parentElement.isContentEditable) ||
      roles.has(el.getAttribute('role')) || el.hasAttribute('onclick') ||
      el.hasAttribute('tabindex') && el.tabIndex >= 0;
  };
  const visible = el => {
    const box = el.getBoundingClientRect();
    if (box.width === 0 && box.height === 0) return false;
    const style = getComputedStyle(el);
    return style.visibility !== 'hidden' && style.display !== 'none';
  };
  const walk = root => {
    for (let el = root.firstElementChild; el && left > 0 && found.length < limit; el = el.nextElementSibling) {
      left--;
      if (usable(el) && visible(el)) found.push(el);
      if (el.localName === 'iframe' || el.localName === 'frame') {
        try {
          if (el.contentDocument && visible(el)) walk(el.contentDocument);
        } catch (e) { /* of another origin */ }
      }
      if (el.shadowRoot) walk(el.shadowRoot);
      walk(el);
    }
  };
  try { walk(document); } catch (e) { /* too deep: what was found counts */ }
  return found;
}
