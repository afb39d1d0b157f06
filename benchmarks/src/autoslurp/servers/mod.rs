//! The simulated servers (SPEC, section 3) and the stand-ins for other services (SPEC, section 4): pure functions of one request.
