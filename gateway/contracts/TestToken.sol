// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title An ERC-20 token for tests: DF, and what other tokens do in its place.
/// @dev The whole supply is its maker's.
contract TestToken {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public immutable totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    constructor(string memory name_, string memory symbol_, uint8 decimals_, uint256 supply) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external virtual returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external virtual returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function move(address from, address to, uint256 value) internal {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// @title USDT for tests: its `transfer` answers nothing, like the real one's.
contract TestTether {
    event Transfer(address indexed from, address indexed to, uint256 value);

    string public constant name = "Tether USD";
    string public constant symbol = "USDT";
    uint8 public constant decimals = 6;
    uint256 public immutable totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    constructor(uint256 supply) {
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function approve(address spender, uint256 value) external {
        allowance[msg.sender][spender] = value;
    }

    function transfer(address to, uint256 value) external {
        move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
    }

    function move(address from, address to, uint256 value) private {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// @title A token that answers false instead of paying.
contract TestRefusingToken is TestToken {
    constructor() TestToken("Refusing", "NO", 18, 10 ** 24) {}

    function transfer(address, uint256) external pure override returns (bool) {
        return false;
    }

    function transferFrom(address, address, uint256) external pure override returns (bool) {
        return false;
    }
}

/// @title A token that keeps a hundredth of what is transferred by allowance.
contract TestFeeToken is TestToken {
    constructor(uint8 decimals_, uint256 supply) TestToken("Fee", "FEE", decimals_, supply) {}

    function transferFrom(address from, address to, uint256 value) external override returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value - value / 100);
        move(from, address(1), value / 100);
        return true;
    }
}

/// @title A token that lies: it says that it has transferred, and moves nothing.
contract TestLyingToken is TestToken {
    constructor() TestToken("Lying", "LIE", 18, 10 ** 24) {}

    function transferFrom(address, address, uint256) external pure override returns (bool) {
        return true;
    }
}

/// @title A token that calls back while it is transferred: once, whom and with what it was told.
contract TestReentrantToken is TestToken {
    address public target;
    bytes public data;
    bool public wasRefused;

    constructor() TestToken("Reentrant", "RE", 18, 10 ** 24) {}

    function aim(address target_, bytes calldata data_) external {
        target = target_;
        data = data_;
    }

    function transferFrom(address from, address to, uint256 value) external override returns (bool) {
        allowance[from][msg.sender] -= value;
        comeBack();
        move(from, to, value);
        return true;
    }

    function transfer(address to, uint256 value) external override returns (bool) {
        comeBack();
        move(msg.sender, to, value);
        return true;
    }

    function comeBack() private {
        (bool isDone,) = target.call(data);
        wasRefused = !isDone;
    }
}
