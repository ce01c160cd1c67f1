function (index, text) {
  const el = this[index];
  const told = () => {
    el.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
    el.dispatchEvent(new Event('change', {bubbles: true}));
  };
  if (el.disabled || el.readOnly) return {why: 'it cannot be changed'};
  if (el.localName === 'select') {
    const want = text.trim();
    const options = Array.from(el.options);
    const option = options.find(o => o.text.trim() === want) || options.find(o => o.value === want) ||
      options.find(o => o.text.trim().toLowerCase() === want.toLowerCase());
    if (!option) return {why: 'it has no such choice; the choices are ' + options.slice(0, 30).map(o => o.text.trim()).join(' | ').slice(0, 1000)};
    if (el.multiple) option.selected = true; else el.value = option.value;
    option.selected = true;
    told();
    return {done: true};
  }
  if (el.localName === 'input') {
    const typed = ['text', 'search', 'url', 'tel', 'email', 'password', 'number'];
    if (['checkbox', 'radio', 'button', 'submit', 'reset', 'image'].includes(el.type)) return {why: 'click it instead'};
    if (!typed.includes(el.type)) {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(el, text.trim());
      told();
      return el.value ? {done: true} : {why: 'it does not take that as a ' + el.type};
    }
    el.focus();
    el.select();
    return {typed: true, enter: true};
  }
  if (el.localName === 'textarea') {
    el.focus();
    el.select();
    return {typed: true};
  }
  if (el.isContentEditable) {
    el.focus();
    const range = el.ownerDocument.createRange();
    range.selectNodeContents(el);
    const selection = el.ownerDocument.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return {typed: true};
  }
  return {why: 'it is not a field'};
}
