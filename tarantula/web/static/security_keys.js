// Passes the options in a form to a security key (WebAuthn), and its response to the server with the form.

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

function parsed(options) {
  options.challenge = bytes(options.challenge);
  if (options.user) options.user.id = bytes(options.user.id);
  for (const list of [options.excludeCredentials, options.allowCredentials]) {
    for (const credential of list || []) credential.id = bytes(credential.id);
  }
  return options;
}

function serialized(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = text(credential.response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response });
}

function prepare(form) {
  const button = form.querySelector("button");
  const alert = form.querySelector("[role=alert]");
  const say = (sentence) => {
    alert.textContent = sentence;
    alert.hidden = !sentence;
  };
  if (!window.PublicKeyCredential) {
    say(alert.dataset.unsupported);
    return;
  }
  button.disabled = false;
  button.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    say("");
    button.disabled = true;
    try {
      const publicKey = parsed(JSON.parse(form.dataset.options));
      form.elements.response.value = serialized(await navigator.credentials[form.dataset.key]({ publicKey }));
      form.submit();
    } catch (error) {
      say(error.name === "InvalidStateError" ? alert.dataset.known : alert.dataset.failed);
      button.disabled = false;
    }
  });
}

document.querySelectorAll("form[data-key]").forEach(prepare);
